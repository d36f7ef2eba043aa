package com.acme;

import com.google.common.collect.ArrayListMultimap;
import com.google.common.collect.Multimap;
import java.util.Comparator;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.broker.loadbalance.LoadSheddingStrategy;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;

/** Sheds the busiest bundle of every broker that has two or more. */
public class BusiestShedder implements LoadSheddingStrategy {

    @Override
    public Multimap<String, String> findBundlesForUnloading(LoadData load, ServiceConfiguration conf) {
        Multimap<String, String> chosen = ArrayListMultimap.create();
        load.getBrokerData().forEach((broker, data) -> {
            if (data.getLocalData().getBundles().size() > 1) {
                data.getLocalData().getBundles().stream()
                        .filter(bundle -> !load.getRecentlyUnloadedBundles().containsKey(bundle))
                        .filter(load.getBundleData()::containsKey)
                        .max(Comparator.comparingDouble(bundle -> traffic(load.getBundleData().get(bundle))))
                        .ifPresent(bundle -> chosen.put(broker, bundle));
            }
        });
        return chosen;
    }

    private static double traffic(BundleData bundle) {
        return bundle.getShortTermData().getMsgThroughputIn() + bundle.getShortTermData().getMsgThroughputOut();
    }
}
